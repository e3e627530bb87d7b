// The command trial shows that a platform is three places and three lines. It copies the working tree, takes one
// platform out of the copy, and builds, vets and tests what is left. Then it puts the platform back, and the copy
// must be the tree that it came from.
//
//	go run ./test/trial -media PLATFORM go test
//
// All packages are built and vetted, those of the other modules that use adsync too. The tests that run are those
// that the platform can matter to: a test binary that is compiled from neither the platform's packages nor those of
// the lists, and that reads no file of another directory, is the same with and without the platform. With -all, all
// tests run.
//
// A platform's places are media/PLATFORM, simulator/PLATFORM, standalone/verify/PLATFORM.go and
// docs/platforms/PLATFORM.md. Its lines are in engine/platforms.go, simulator/platforms.go and
// standalone/verify/platforms.go. Generated files are generated again each time.
package main
