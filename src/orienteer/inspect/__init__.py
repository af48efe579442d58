"""What does a crawl folder hold, looked at from another process?"""
