"""What the plots of reasons are drawn with."""
