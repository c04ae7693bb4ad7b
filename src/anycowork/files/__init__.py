"""What a person sees of a workspace's files: folders by the page, single files, search by name. Reads only, through the jail.
Also the text of a PDF that somebody attaches."""
