"""Reading archives that others wrote, damaged ones too."""
