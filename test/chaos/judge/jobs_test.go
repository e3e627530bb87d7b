package judge

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJobs_EachIsReadAndNoneIsTooMany(t *testing.T) {
	t.Parallel()
	read := func(n int) (jobs []Job) {
		for i := range n {
			jobs = append(jobs, Job{ID: int64(i), Reads: 1})
		}
		return jobs
	}
	cut, problems := Jobs(append(read(4), Job{ID: 9, Reads: 1, Cut: true}), 3, 1)
	require.Equal(t, 1, cut)
	require.Empty(t, problems, "a file was cut off, and a pull was repeated")

	_, problems = Jobs(append(read(2), Job{ID: 9, Name: "adsync-9", Account: 7}), 3, 1)
	require.Equal(t, []Problem{{Kind: Lost, Text: "nobody read the file of job 9, adsync-9, of account 7"}}, problems)

	_, problems = Jobs(read(5), 3, 1)
	require.Equal(t, []Problem{{Kind: Doubled,
		Text: "2 jobs more than files were made, and only 1 processes were killed"}}, problems)
}
