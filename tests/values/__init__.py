"""What every shipped scene gives, by every method: kept, and compared after a change that is to change nothing."""
