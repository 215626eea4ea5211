"""The page that a server shows and a published site is made of; publishing."""
