"""What everything stands on: errors, whole files, run directories, command lines, tables and pages, OpenGL."""
