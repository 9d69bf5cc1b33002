"""How tokens depend on the lag: information, periods and half-lives, with nulls and fit."""
