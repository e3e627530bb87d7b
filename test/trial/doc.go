// The command trial shows that a platform is three places and three lines. It copies the working tree, removes one
// platform from the copy, and builds, vets and tests the rest. Then it puts the platform back, and the copy must
// equal the original tree.
//
//	go run ./test/trial -media PLATFORM go test
//
// All packages are built and vetted, also those of the other modules that use adsync. Only tests run that the
// platform can affect. A test binary is not affected if it is compiled from neither the platform's packages nor those
// of the lists, and reads no file of another directory. With -all, all tests run.
//
// A platform's places are media/PLATFORM, simulator/PLATFORM and standalone/verify/PLATFORM.go; its page stays. Its
// lines are in engine/platforms.go, simulator/platforms.go and standalone/verify/platforms.go. Generated files are
// generated again each time.
package main
