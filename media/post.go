package media

// PostReader is a Platform whose lists and reports are read by POST.
type PostReader interface {
	// Reads reports whether a POST to an endpoint changes nothing at the platform. Such a POST is sent again when no
	// answer comes, as a GET is, and is allowed for a live account.
	Reads(endpoint string) bool
}

// AppSigner is a Platform with calls that carry the app's secret. All other calls never get the secret.
type AppSigner interface {
	// AppSigned reports whether the calls of an endpoint carry it.
	AppSigned(endpoint string) bool
	// SignApp returns the JSON body of such a call with the app and the login's token added.
	SignApp(body []byte, app App, accessToken string) ([]byte, error)
}
