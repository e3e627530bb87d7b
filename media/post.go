package media

// PostReader is a Platform whose lists and reports are asked for by POST.
type PostReader interface {
	// Reads tells whether a POST of an endpoint changes nothing at the platform: where no answer comes it is sent again,
	// as a GET is, and a live account may be asked with it.
	Reads(endpoint string) bool
}

// AppSigner is a Platform some of whose calls carry the app's own secret, which the others never see.
type AppSigner interface {
	// AppSigned tells whether the calls of an endpoint do.
	AppSigned(endpoint string) bool
	// SignApp returns the JSON body of such a call with the app, and the login's token, in it.
	SignApp(body []byte, app App, accessToken string) ([]byte, error)
}
