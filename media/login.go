package media

import "context"

// Login is who has authorised our app.
type Login struct {
	// ID is the platform's id of the login, as Exchange returns it. A login that a person wrote by hand may have another.
	ID string
	// Name is the login's name at the platform; "" if it is not known.
	Name string
}

type loginKey struct{}

// WithLogin returns a context that carries a login. The contexts of Refresh, of Accounts and of the request that Sign
// gets carry theirs, for platforms whose calls name the login.
func WithLogin(ctx context.Context, login Login) context.Context {
	return context.WithValue(ctx, loginKey{}, login)
}

// LoginOf returns the login that a context carries; the zero Login if it carries none.
func LoginOf(ctx context.Context) Login {
	login, _ := ctx.Value(loginKey{}).(Login)
	return login
}
