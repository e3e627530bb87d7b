// Package service starts and stops the long-lived parts of the program in a stated order.
package service

import "context"

// Service is a long-lived part of the program.
//
// Start returns when the part works, or with the reason why it cannot. The part outlives ctx, which bounds only the
// start. Stop ends the part, waits until it has ended, and may be called twice or before Start.
type Service interface {
	Start(ctx context.Context) error
	Stop()
}
