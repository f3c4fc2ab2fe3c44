"""Does a reward rank behaviour?"""
