// Package mysql8 runs adsync's SQL on a MySQL 8 dialect.
//
// The server is go-mysql-server, a MySQL 8 in Go that keeps its tables in memory. It shows that every statement parses
// and means there what it means elsewhere. It has neither row locks nor isolation: what rests on them is tested on
// MariaDB (make test-services), and here transactions run one after the other.
//
// It is a module of its own, so that the server's dependencies stay out of adsync's.
package mysql8

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// skipped are the tests that cannot run on this server, and why.
var skipped = []struct{ test, because string }{
	{"TestGuardedWrites_BlockATakeoverUntilTheyCommit", "row locks"},
	{"TestGuardedWrites_WaitForATakeoverUnderWay", "row locks"},
	{"TestQueued_WhileTheOlderOneIsEnding", "row locks"},
	{"TestApplyBindings_NewDaysOfCoverageWait", "row locks"},
	{"TestRebuildSummary_OvertakenByOneThatMissedABinding", "two transactions at once"},
	{"TestPrune_.*",
		"it has no partitions, no two transactions at once, and a DELETE with a subquery about the row fails here"},
	{"TestRunCounts_AnyOrderAndCuts", "what a connection that is cut had changed may stay"},
	{"TestWrites_AfterACutWhoseOutcomeIsUnknown", "what a connection that is cut had changed may stay"},
	{"TestPatience_AServerThatStopsInTheMiddleIsLeftAndFoundAgain", "it has no database mysql"},
	{"TestQueued_IsLookedUpByIndex", "the plan of EXPLAIN is of another form"},
	{"TestMigrateUp_GoesOnWhereOneEndedBetweenAChangeAndItsNote",
		"its errors for what is there already have codes of their own"},
	{"TestMigrateUp_GivesTheComingDaysTheirPartitions", "it has no partitions"},
	{"TestRenew_OneOfManyProcessesCallsThePlatform", "times the wait for a lock"},
	{"TestRenew_ParksALoginWhoseNewTokensTheDatabaseRefuses",
		"it alters a table while another connection holds a lock, and waits for that here"},
	{"TestApplyOutcomes_LooksRowsUpByKey", "the plan of EXPLAIN is of another form"},
	{"TestReads_DoNotGrowWithUnselectedRows", "it does not tell how many rows it reads"},
	{"TestReads_OfAFanOutReadEachAccountOnce", "the same"},
	{"TestPlans_ReadNoWholeTable", "it has no sequences to make the rows from, and does not tell how many it reads"},
	{"TestFanningOutRuns_AreFoundByIndex", "the plan of EXPLAIN is of another form"},
	{"TestTombstones_AWarehouseFollowsWithAnOverlap",
		"a DELETE with a subquery about the row fails here; these are a warehouse's statements"},
	{"TestPutAccounts_ManyAtOnceFromTwoLogins", "an UPDATE with a subquery fails here when others have changed its rows"},
	{"TestBackfill_FillsOnlyNULL",
		"of an index that is read by ranges and equal values in turn it forgets the latter, and sums up all levels"},
	// Its time for a statement grows with the square of the rows; the same statements run with fewer rows in others.
	{"TestTicks_ThousandsAtOnce", "too many rows"},
	{"TestOpenAPI_WhateverIsAskedIsAnswered", "too many requests: thousands"},
	{"TestTask_IsRefusedWithEachFieldThatCannotBeUsed",
		"it holds rows of all tasks at a time, for which a statement takes longer than a connection waits"},
	{"TestTask_IsCreatedAndRunsByItsNextMoment", "the same"},
	{"TestOverview_IsWhatTheTablesSay", "so does one of its statements"},
	{"TestMigrateUp_FinishesWhatHadBegun", "its errors have other numbers"},
	{"TestPlanTicks_ThousandsDueAtTheSameSecond", "too many rows"},
	{"TestAddSubtasks_TwiceChangesNothing", "too many rows"},
	{"TestApplyOutcomes_OfSeveralDaysGoToTheirTables", "too many rows"},
	{"TestDropDead_LeavesRowsOfARedrive", "too many rows"},
	{"TestRedrive_MarksReadsAndSettles", "too many rows"},
	{"TestRunCounts_Concurrently", "too many rows: a UNION of twenty is planned for minutes"},
	{"TestRecordStarts_ManyMembersAtOnce", "too many rows: a UNION of fifty"},
	{"TestTexts_ThatDoNotFitTheirColumnAreRefused", "its ascii columns take any letter"},
	{"TestIsUnfit_IsWhatAColumnDoesNotTake", "its error of a text that is too long has no number of its own"},
	{"TestCheckUp_NamesEachMissingRightAndWhatGrantsIt", "it has no users"},
	{"TestOrder_OfADatabaseThatTakesNoMore", "the same"},
	{"TestRedriveDead_SaysWhereTheHealedAreTheLeast", "too many rows"},
	{"TestTables_AllHaveACharacterSetOfTheirOwn", "CONVERT TO changes the table and not its columns here"},
	{"TestPlanRounds_AnswersAllOfMany", "too many rows"},
	{"TestStatements_AreNoLargerThanTheServerTakes", "too many rows"},
	{"TestDead_MoreThanOneTransactionChanges", "too many rows"},
	{"TestExpireLogDay_NeedsMoreThanOneTransaction", "too many rows"},
	{"TestFill_EndsWithWholeCoverage",
		"a hundred coverages, each looked at several times, are half of all the time there is"},
	{"TestRebuildSummary_HasTheSumsOfMetricValues", "too many rows: a UNION of 500 is planned for minutes"},
}

// TestStatements runs the tests of the packages that write statements. Not those of the producer and the consumer,
// which have none of their own: they make more of them, and longer lists, than this server plans in time. Nor a whole
// deployment: the smallest world has two large accounts, whose creatives are some 60,000 rows, which is too many for
// it.
func TestStatements(t *testing.T) {
	t.Parallel()
	var names []string
	for _, s := range skipped {
		names = append(names, "^"+s.test+"$")
	}
	// One package and one test after the other: with twice as much at a time statements wait for longer than adsync bears.
	goTest(t, "-skip", strings.Join(names, "|"), "./base/store/...", "./media/token", "./media/pull", "./media/field",
		"./upkeep", "./producer/api")
}

// goTest runs tests of adsync on a server of their own, all of whose statements the server must have understood.
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
