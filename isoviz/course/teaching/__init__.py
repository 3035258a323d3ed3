"""For teachers: kept answers judged again, the report on a class, and the notebooks for other graders."""
