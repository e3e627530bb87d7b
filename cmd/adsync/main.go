// Command adsync pulls advertising accounts and their figures into a team's own database.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
