// The command helm prints what the Helm chart's lanes of * are, one a line: adsync's own tasks, and the platforms of this release.
package main

import (
	"fmt"

	"adsync/engine"
	"adsync/upkeep"
)

func main() {
	fmt.Println(upkeep.Name)
	for _, name := range engine.PlatformNames() {
		fmt.Println(name)
	}
}
