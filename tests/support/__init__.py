"""What several rooms of tests share: imported by its name, since tests are no package."""
