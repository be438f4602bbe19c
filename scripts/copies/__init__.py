"""Copies of the site to take along: an archive that opens from a disk, and two PDFs."""
