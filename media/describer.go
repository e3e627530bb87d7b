package media

import "context"

// Describer is a platform that lists a login's accounts only to calls with the app's secret. standalone --live has a
// token alone, and reads the details of its account with Describe.
type Describer interface {
	// Describe returns the API's account as Accounts does.
	Describe(ctx context.Context, api API) (FoundAccount, error)
}
