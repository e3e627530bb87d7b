package place_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The FTP server under test waits up to a minute for a data connection that its client did not open.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("goftp.io/server/v2.(*passiveSocket).ListenAndServe.func1"))
}
