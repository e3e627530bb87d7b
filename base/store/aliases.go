// The names of the subjects, for who uses the store as a whole.

package store

import (
	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/base/store/dead"
	"adsync/base/store/leader"
	"adsync/base/store/ledger"
	"adsync/base/store/overview"
	"adsync/base/store/prune"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/base/store/summaries"
)

// Of base/rawtable.

type (
	Kind      = rawtable.Kind
	RawColumn = rawtable.Column
	RawTable  = rawtable.Table
	Shape     = rawtable.Shape
)

// Of base/rawtable.

const (
	AccountRows   = rawtable.AccountRows
	DailyFundRows = rawtable.DailyFundRows
	DailyRows     = rawtable.DailyRows
	FundRows      = rawtable.FundRows
	HourlyRows    = rawtable.HourlyRows
	Instant       = rawtable.Instant
	Int           = rawtable.Int
	Objects       = rawtable.Objects
	Text          = rawtable.Text
)

// Of base/sqldb.

type (
	Config          = sqldb.Config
	DB              = sqldb.DB
	Database        = sqldb.Database
	Dialect         = sqldb.Dialect
	MigrationStatus = sqldb.MigrationStatus
	Place           = sqldb.Place
	Reach           = sqldb.Reach
	SchemaError     = sqldb.SchemaError
	Table           = sqldb.Table
	Time            = sqldb.Time
	TooLargeError   = sqldb.TooLargeError
)

// Of base/sqldb.

const (
	ByAccount       = sqldb.ByAccount
	ByRun           = sqldb.ByRun
	DaysAhead       = sqldb.DaysAhead
	EveryShard      = sqldb.EveryShard
	MySQL           = sqldb.MySQL
	MySQLDialect    = sqldb.MySQLDialect
	OneServer       = sqldb.OneServer
	PatienceDefault = sqldb.PatienceDefault
	SQLite          = sqldb.SQLite
	SQLiteDialect   = sqldb.SQLiteDialect
)

// Of base/sqldb.

var (
	At                 = sqldb.At
	DefaultConfig      = sqldb.DefaultConfig
	ErrNoOneRow        = sqldb.ErrNoOneRow
	ErrNotFound        = sqldb.ErrNotFound
	ErrStatementBinlog = sqldb.ErrStatementBinlog
	ErrorPrint         = sqldb.ErrorPrint
	IsTooLarge         = sqldb.IsTooLarge
	IsUnfit            = sqldb.IsUnfit
	Places             = sqldb.Places
	Refused            = sqldb.Refused
	SQLiteFile         = sqldb.SQLiteFile
	Tuples             = sqldb.Tuples
	Unavailable        = sqldb.Unavailable
)

// Of base/store/dead.

type (
	DeadCount   = dead.DeadCount
	DeadGroup   = dead.DeadGroup
	DeadPlace   = dead.DeadPlace
	DeadSubtask = dead.DeadSubtask
	DeadTotal   = dead.DeadTotal
	Pace        = dead.Pace
)

// Of base/store/dead.

const (
	AuditDead = dead.AuditDead
)

// Of base/store/leader.

type (
	Leadership = leader.Leadership
)

// Of base/store/ledger.

type (
	AccountPart    = ledger.AccountPart
	AccountRange   = ledger.AccountRange
	AccountSubtask = ledger.AccountSubtask
	Assignment     = ledger.Assignment
	Due            = ledger.Due
	FanOutAccount  = ledger.FanOutAccount
	FanOuts        = ledger.FanOuts
	LaneName       = ledger.LaneName
	LostSubtask    = ledger.LostSubtask
	Offsets        = ledger.Offsets
	OpenSubtask    = ledger.OpenSubtask
	Outcome        = ledger.Outcome
	QueuedPart     = ledger.QueuedPart
	RestingLogin   = ledger.RestingLogin
	Round          = ledger.Round
	Run            = ledger.Run
	RunOrder       = ledger.RunOrder
	RunSearch      = ledger.RunSearch
	RunningRun     = ledger.RunningRun
	SentDue        = ledger.SentDue
	SentRange      = ledger.SentRange
	Start          = ledger.Start
	Stop           = ledger.Stop
	StopFilter     = ledger.StopFilter
	StoppedRun     = ledger.StoppedRun
	Subtask        = ledger.Subtask
	SubtaskFilter  = ledger.SubtaskFilter
	SubtaskLog     = ledger.SubtaskLog
	SubtaskStatus  = ledger.SubtaskStatus
	Tick           = ledger.Tick
	WaitingFilter  = ledger.WaitingFilter
	WaitingPlace   = ledger.WaitingPlace
	WaitingSubtask = ledger.WaitingSubtask
)

// Of base/store/ledger.

const (
	ErrorTextMax = ledger.ErrorTextMax
	PartMax      = ledger.PartMax
	RunOfOrder   = ledger.RunOfOrder
	RunOfTick    = ledger.RunOfTick
)

// Of base/store/ledger.

var (
	ErrRunChanged = ledger.ErrRunChanged
	LogTable      = ledger.LogTable
	LoginOf       = ledger.LoginOf
	LoginPart     = ledger.LoginPart
	Never         = ledger.Never
	QueuedBehind  = ledger.QueuedBehind
	SortDue       = ledger.SortDue
)

// Of base/store/overview.

type (
	AccountCount      = overview.AccountCount
	AccountFilter     = overview.AccountFilter
	AccountMoney      = overview.AccountMoney
	AccountSpend      = overview.AccountSpend
	AccountState      = overview.AccountState
	DayCost           = overview.DayCost
	DoubtfulDay       = overview.DoubtfulDay
	Glance            = overview.Glance
	ImpossibleBinding = overview.ImpossibleBinding
	ListedAccount     = overview.ListedAccount
	LoginEnd          = overview.LoginEnd
	ParkedCount       = overview.ParkedCount
	Pulled            = overview.Pulled
	PulledAccount     = overview.PulledAccount
	PulledDay         = overview.PulledDay
	RunLook           = overview.RunLook
	Shown             = rawtable.Shown
	Spend             = overview.Spend
	SpendRow          = overview.SpendRow
	UnknownGame       = overview.UnknownGame
	Unsummed          = overview.Unsummed
	UnusableField     = overview.UnusableField
	Waiting           = overview.Waiting
	WatchAccount      = overview.WatchAccount
	WatchLogin        = overview.WatchLogin
)

// Of base/store/overview.

const (
	AccountParked  = overview.AccountParked
	AccountPulled  = overview.AccountPulled
	AccountUnbound = overview.AccountUnbound
	LoginNone      = overview.LoginNone
	Unassigned     = overview.Unassigned
)

// Of base/store/prune.

type (
	Pruner = prune.Pruner
)

// Of base/store/results.

type (
	Activity         = results.Activity
	Answer           = results.Answer
	AssetUse         = rawtable.AssetUse
	Calendar         = results.Calendar
	CalendarDay      = results.CalendarDay
	ChangeFilter     = results.ChangeFilter
	Claim            = results.Claim
	ColumnFill       = results.ColumnFill
	ColumnFilled     = results.ColumnFilled
	Comparison       = results.Comparison
	ConfigChange     = results.ConfigChange
	Coverage         = results.Coverage
	CoverageState    = results.CoverageState
	Difference       = results.Difference
	DifferenceFilter = results.DifferenceFilter
	Doubt            = results.Doubt
	FaultKind        = rawtable.FaultKind
	FencedError      = results.FencedError
	Figure           = results.Figure
	FillAccount      = results.FillAccount
	FundRow          = results.FundRow
	FundSum          = results.FundSum
	FundWrite        = results.FundWrite
	Hole             = results.Hole
	HoleOrder        = results.HoleOrder
	Judging          = results.Judging
	LevelOf          = results.LevelOf
	LevelSum         = results.LevelSum
	ObjectRow        = results.ObjectRow
	ObjectWrite      = results.ObjectWrite
	ReportLevel      = results.ReportLevel
	ReportResult     = results.ReportResult
	ReportRow        = results.ReportRow
	ReportWrite      = results.ReportWrite
	Scope            = results.Scope
	SuspectError     = results.SuspectError
	Unusable         = results.Unusable
	UnusableValue    = results.UnusableValue
	Verdict          = results.Verdict
)

// Of base/store/results.

const (
	AssetImage       = rawtable.AssetImage
	AssetVideo       = rawtable.AssetVideo
	AttributeFault   = rawtable.AttributeFault
	Complete         = results.Complete
	DifferenceMended = results.DifferenceMended
	DifferenceOpen   = results.DifferenceOpen
	FieldCreated     = results.FieldCreated
	FieldDeleted     = results.FieldDeleted
	FigureFault      = rawtable.FigureFault
	FutureFault      = rawtable.FutureFault
	KeyFault         = rawtable.KeyFault
	Partial          = results.Partial
	PartnerReport    = results.PartnerReport
	Suspect          = results.Suspect
	TombstonesKept   = results.TombstonesKept
)

// Of base/store/results.

var (
	ErrUnusableValue = results.ErrUnusableValue
	IsFenced         = results.IsFenced
	IsNoValue        = rawtable.IsNoValue
	UnusableNote     = results.UnusableNote
	UnusableOf       = results.UnusableOf
)

// Of base/store/settings.

type (
	Account      = settings.Account
	AccountLogin = settings.AccountLogin
	AccountRef   = settings.AccountRef
	AccountRow   = settings.AccountRow
	App          = settings.App
	Audit        = settings.Audit
	AuditFilter  = settings.AuditFilter
	Editor       = settings.Editor
	FieldState   = settings.FieldState
	Lane         = settings.Lane
	LimitRow     = settings.LimitRow
	Login        = settings.Login
	LoginAccount = settings.LoginAccount
	NewAccount   = settings.NewAccount
	NewTask      = settings.NewTask
	OAuthState   = settings.OAuthState
	OAuthStep    = settings.OAuthStep
	ProbeAccount = settings.ProbeAccount
	ReportField  = settings.ReportField
	SealFunc     = settings.SealFunc
	TaskRow      = settings.TaskRow
	TaskSchedule = settings.TaskSchedule
	TaskTable    = settings.TaskTable
	TierAccount  = settings.TierAccount
	TierChange   = settings.TierChange
	Token        = settings.Token
)

// Of base/store/settings.

const (
	AccountFigures   = settings.AccountFigures
	AccountLevel     = settings.AccountLevel
	AnyMedia         = settings.AnyMedia
	AuditCoverage    = settings.AuditCoverage
	AuditSQL         = settings.AuditSQL
	AuditTasks       = settings.AuditTasks
	FieldAsked       = settings.FieldAsked
	FieldOff         = settings.FieldOff
	FieldRefused     = settings.FieldRefused
	FieldRetired     = settings.FieldRetired
	LaneImportant    = settings.LaneImportant
	LaneNormal       = settings.LaneNormal
	LaneOffline      = settings.LaneOffline
	OAuthDone        = settings.OAuthDone
	OAuthExchanging  = settings.OAuthExchanging
	OAuthFailed      = settings.OAuthFailed
	OAuthStateLasts  = settings.OAuthStateLasts
	OAuthStored      = settings.OAuthStored
	OAuthWaiting     = settings.OAuthWaiting
	ParkGapMax       = settings.ParkGapMax
	ParkGapMin       = settings.ParkGapMin
	ParkedLogin      = settings.ParkedLogin
	TierActive       = settings.TierActive
	TierAuto         = settings.TierAuto
	TierInactive     = settings.TierInactive
	TierInvalid      = settings.TierInvalid
	TierManual       = settings.TierManual
	TokenOK          = settings.TokenOK
	TokenReauthorise = settings.TokenReauthorise
)

// Of base/store/settings.

var (
	ErrNoOAuthState = settings.ErrNoOAuthState
	ErrTaskExists   = settings.ErrTaskExists
	LaneImportance  = settings.LaneImportance
	NewTaskRow      = settings.NewTaskRow
	ParkGap         = settings.ParkGap
	SplitName       = settings.SplitName
)

// Of base/store/summaries.

type (
	Binding        = summaries.Binding
	BindingChange  = summaries.BindingChange
	DirtyDay       = summaries.DirtyDay
	ObjectTable    = summaries.ObjectTable
	PartnerAccount = summaries.PartnerAccount
	PartnerBatch   = summaries.PartnerBatch
	PartnerConfig  = summaries.PartnerConfig
	PartnerCursor  = summaries.PartnerCursor
	PartnerFault   = summaries.PartnerFault
	PartnerLoad    = summaries.PartnerLoad
	PartnerResult  = summaries.PartnerResult
	PartnerRow     = summaries.PartnerRow
	PartnerSource  = summaries.PartnerSource
	PartnerValues  = summaries.PartnerValues
	WideDay        = summaries.WideDay
)

// Of base/store/summaries.

const (
	FirstBoundDay    = summaries.FirstBoundDay
	LastDay          = summaries.LastDay
	PartnerNoAccount = summaries.PartnerNoAccount
	PartnerNoObject  = summaries.PartnerNoObject
)

// Of base/store/summaries.

var (
	BindingDifferences   = summaries.BindingDifferences
	BindingOn            = summaries.BindingOn
	DefaultPartnerConfig = summaries.DefaultPartnerConfig
	ErrPartnerOvertaken  = summaries.ErrPartnerOvertaken
	ObjectLevels         = summaries.ObjectLevels
	OpenPartner          = summaries.OpenPartner
	PartnerFigures       = summaries.PartnerFigures
	WithoutOverlaps      = summaries.WithoutOverlaps
)
