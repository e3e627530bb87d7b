// Package mysql8 runs adsync's SQL on a MySQL 8 dialect.
//
// The server is go-mysql-server, a MySQL 8 in Go that keeps its tables in memory. It shows that every statement
// parses, and has the same meaning as elsewhere. It has neither row locks nor isolation: what rests on them is tested
// on MariaDB (make test-services), and here transactions run one after the other.
//
// It is a separate module, so that the server's dependencies stay out of adsync's.
package mysql8

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// skipped are the tests that cannot run on this server, with the reasons.
var skipped = []struct{ test, because string }{
	{"TestGuardedWrites_BlockATakeoverUntilTheyCommit", "row locks"},
	{"TestGuardedWrites_WaitForATakeoverUnderWay", "row locks"},
	{"TestQueued_WhileTheOlderOneIsEnding", "row locks"},
	{"TestApplyBindings_NewDaysOfCoverageWait", "row locks"},
	{"TestWriteReport_OneThatWaitsForALock", "row locks"},
	{"TestRebuildSummary_OvertakenByOneThatMissedABinding", "two transactions at once"},
	{"TestPrune_.*",
		"it has no partitions, no two transactions at once, and a DELETE with a subquery about the row fails here"},
	{"TestRunCounts_AnyOrderAndCuts", "changes of a connection that is cut may stay"},
	{"TestWrites_AfterACutWhoseOutcomeIsUnknown", "changes of a connection that is cut may stay"},
	{"TestStore_CutCommitsLoseNothing", "changes of a connection that is cut may stay"},
	{"TestPatience_AServerThatStopsIsLeftAndFoundAgain", "it has no database mysql"},
	{"TestQueued_IsLookedUpByIndex", "EXPLAIN has another form"},
	{"TestMigrateUp_ContinuesAfterAnUnrecordedChange", "its errors for objects that exist have other codes"},
	{"TestMigrateUp_CreatesThePartitionsOfTheComingDays", "it has no partitions"},
	{"TestRenew_OneOfManyProcessesCallsThePlatform", "times the wait for a lock"},
	{"TestRenew_ParksALoginWhoseNewTokensTheDatabaseRefuses",
		"it alters a table while another connection holds a lock, and waits for the lock here"},
	{"TestApplyOutcomes_LooksRowsUpByKey", "EXPLAIN has another form"},
	{"TestReads_DoNotGrowWithUnselectedRows", "it does not report how many rows it reads"},
	{"TestReads_OfAFanOutReadEachAccountOnce", "it does not report how many rows it reads"},
	{"TestPlans_ReadNoWholeTable", "it has no sequences to make the rows from, and does not report how many it reads"},
	{"TestFanningOutRuns_AreFoundByIndex", "EXPLAIN has another form"},
	{"TestTombstones_AWarehouseFollowsWithAnOverlap",
		"a DELETE with a subquery about the row fails here; these are a warehouse's statements"},
	{"TestPutAccounts_ManyAtOnceFromTwoLogins", "an UPDATE with a subquery fails here after others have changed its rows"},
	{"TestBackfill_FillsOnlyNULL",
		"it ignores the equal values of an index that is read by ranges too, and sums up all levels"},
	// A statement's time grows with the square of its rows here. Other tests run these statements with fewer rows.
	{"TestTicks_ThousandsAtOnce", "too many rows"},
	{"TestOpenAPI_AnyRequestGetsADescribedAnswer", "too many requests: thousands"},
	{"TestTask_ARefusalNamesEachWrongField",
		"it holds rows of all tasks, for which a statement takes longer than a connection waits"},
	{"TestTask_IsCreatedAndRunsAtItsNextTick", "a statement takes longer than a connection waits"},
	{"TestOverview_MatchesTheTables", "a statement takes longer than a connection waits"},
	{"TestMigrateUp_FinishesAPartlyAppliedMigration", "its errors have other numbers"},
	{"TestPlanTicks_ThousandsDueAtTheSameSecond", "too many rows"},
	{"TestAddSubtasks_TwiceChangesNothing", "too many rows"},
	{"TestApplyOutcomes_OfSeveralDaysGoToTheirTables", "too many rows"},
	{"TestDropDead_LeavesRowsOfARedrive", "too many rows"},
	{"TestRedrive_MarksReadsAndSettles", "too many rows"},
	{"TestRunCounts_Concurrently", "too many rows: a UNION of twenty is planned for minutes"},
	{"TestApplyOutcomes_ConcurrentBatchesCountExactly", "too many rows: eight writers wait longer than adsync's limit"},
	{"TestRecordStarts_ManyMembersAtOnce", "too many rows: a UNION of fifty"},
	{"TestTexts_ThatExceedTheirColumnAreRefused", "its ascii columns accept any letter"},
	{"TestIsUnfit_IsWhatAColumnDoesNotTake", "its error for a text that is too long has no number of its own"},
	{"TestCheckUp_NamesEachMissingRightAndItsGrant", "it has no users"},
	{"TestOrder_OfADatabaseThatRefusesWrites", "it has no users"},
	{"TestRedriveDead_ReportsWhenHealedIsOnlyAMinimum", "too many rows"},
	{"TestTables_AllHaveTheirOwnCharacterSet", "CONVERT TO changes the table and not its columns here"},
	{"TestPlanRounds_AnswersAllOfMany", "too many rows"},
	{"TestStatements_AreNoLargerThanTheServerTakes", "too many rows"},
	{"TestDead_MoreThanOneTransactionChanges", "too many rows"},
	{"TestExpireLogDay_NeedsMoreThanOneTransaction", "too many rows"},
	{"TestFill_EndsWithWholeCoverage",
		"a hundred coverages, each read several times, take half of the time limit"},
	{"TestCopyTable_.*", noKeys},
	{"TestPlanCopy_.*", noKeys},
	{"TestTableCopies_AreRowsWithARecord", noKeys},
	{"TestTableCopies_HaveACursorForEachTarget", noKeys},
	{"TestCopy_HasAPartForEachEnabledCopyAndRunsEachAlone", noKeys},
	{"TestCopy_ACheckNamesWhatIsWrong", noKeys},
	{"TestRebuildSummary_HasTheSumsOfMetricValues", "too many rows: a UNION of 500 is planned for minutes"},
}

// noKeys is why copies of tables are not tested: they need the keys of their targets.
const noKeys = "its information_schema.statistics has no keys"

// TestStatements runs the tests of the packages that write statements. It leaves out the producer and the consumer,
// which have no statements of their own, and make more of them, with longer lists, than this server plans in time. It
// also leaves out a whole deployment: the smallest world has two large accounts with some 60,000 creatives, too many
// rows for this server.
func TestStatements(t *testing.T) {
	t.Parallel()
	var names []string
	for _, s := range skipped {
		names = append(names, "^"+s.test+"$")
	}
	// One package and one test at a time: with two, statements wait longer than adsync's limits.
	goTest(t, "-skip", strings.Join(names, "|"), "./base/store/...", "./media/token", "./media/pull", "./media/field",
		"./upkeep", "./producer/api")
}

// goTest runs tests of adsync on a new server. The server must understand all their statements.
func goTest(t *testing.T, args ...string) {
	t.Helper()
	server := startServer(t)
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"test", "-count=1", "-p=1", "-parallel=1",
		"-timeout=10m"}, args...)...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "ADSYNC_TEST_MYSQL=root@tcp("+server.addr+")/", "ADSYNC_TEST_KAFKA=",
		"ADSYNC_TEST_REDIS=")
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "go test %s:\n%s", strings.Join(args, " "), output)
	server.mu.Lock()
	defer server.mu.Unlock()
	require.Empty(t, server.refused)
}
