"""python -m spagree"""

from spagree.cli import main

if __name__ == "__main__":
    main()
