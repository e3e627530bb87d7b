package task

// File is a file that a subtask has delivered, for the message to the application that follows the subtask. Its texts
// are cut to FileTextMax characters.
type File struct {
	ID           string `json:"id"`           // of the publication
	Subscription string `json:"subscription"` // that the file was made for
	Revision     int    `json:"revision"`     // of the file of its period: 1, 2, …
	Destination  string `json:"destination"`
	Name         string `json:"name"` // at the destination, below its prefix
	Rows         int64  `json:"rows"`
	Bytes        int64  `json:"bytes"`
	SHA256       string `json:"sha256"`     // in hex
	Incomplete   bool   `json:"incomplete"` // figures are missing that it should have waited for
}

// FilesMax is how many files of one subtask the message has; more are left out.
const FilesMax = 10

// FileTextMax is how many characters each text of a File may have.
const FileTextMax = 512
