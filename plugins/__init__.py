"""Controllers that come with the program, written as anyone would write one."""
