"""The fonts of the site, cut to the characters of its pages."""
