"""How tokens depend on the lag: information, periods, half-lives, with nulls and goodness of fit."""
