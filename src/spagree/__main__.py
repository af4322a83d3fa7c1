"""python -m spagree"""

from spagree.cli.app import main

if __name__ == "__main__":
    main()
