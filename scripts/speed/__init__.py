"""How fast the site is built and read; the browser and the web server for it serve tests and copies, too."""
