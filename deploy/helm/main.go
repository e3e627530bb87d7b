// Command helm prints the platforms of the Helm chart's lanes of *, one a line: adsync's own tasks, and the platforms
// of this release.
package main

import (
	"fmt"
	"os"

	"adsync/engine"
	"adsync/upkeep"
)

func main() {
	_, _ = fmt.Fprintln(os.Stdout, upkeep.Name)
	for _, name := range engine.PlatformNames() {
		_, _ = fmt.Fprintln(os.Stdout, name)
	}
}
