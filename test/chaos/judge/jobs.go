package judge

import "fmt"

// Job is an asynchronous report that was created on a platform.
type Job struct {
	ID      int64  `json:"id"`
	Name    string `json:"name"`
	Account int64  `json:"account"`
	Reads   int64  `json:"reads"` // how often its file was sent
	Cut     bool   `json:"cut"`   // it was sent without its last line
}

// Jobs compares the jobs on a platform with the files that were wanted. A file that is cut off is made again, and so is
// the file of a pull whose outcome a killed process did not write. It returns how many files were cut off.
func Jobs(jobs []Job, files, kills int) (cut int, problems []Problem) {
	for _, job := range jobs {
		if job.Cut {
			cut++
		}
		if job.Reads == 0 {
			problems = append(problems, Problem{Kind: Lost,
				Text: fmt.Sprintf("nobody read the file of job %d, %s, of account %d", job.ID, job.Name, job.Account)})
		}
	}
	if more := len(jobs) - files - cut; more > kills {
		problems = append(problems, Problem{Kind: Doubled,
			Text: fmt.Sprintf("%d jobs more than files were made, and only %d processes were killed", more, kills)})
	}
	return cut, problems
}
