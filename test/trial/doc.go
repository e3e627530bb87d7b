// The command trial shows that a platform is three places and three lines. It copies the working tree, takes one platform out of the copy, and
// builds, vets and tests what is left. Then it puts the platform back, and the copy must be the tree that it came from.
//
//	go run ./test/trial -media PLATFORM go test ./...
//
// A platform's places are media/PLATFORM, simulator/PLATFORM, standalone/verify/PLATFORM.go and docs/platforms/PLATFORM.md. Its lines are in
// engine/platforms.go, simulator/platforms.go and standalone/verify/platforms.go. Generated files are generated again each time.
package main
