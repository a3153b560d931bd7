/**
 * How much tests repeat that have random input, kills, races or many combinations. `npm test` runs the quick
 * form of each, CI the full one (`TEST_FULL=1`), and `npm run test:long` the long one (`TEST_LONG=1`). A
 * variable of its own overrides some.
 */
const isLong = process.env.TEST_LONG === '1'

/** Whether matrices have all their combinations, not only each row and each column once. */
export const IS_FULL = isLong || process.env.TEST_FULL === '1'

/** Every pair of members of two lists. Its quick form has each member, but not each pair. */
export function pairs<Row, Column>(
  rows: readonly Row[],
  columns: readonly Column[],
): readonly [Row, Column][] {
  if (IS_FULL) return rows.flatMap((row) => columns.map((column): [Row, Column] => [row, column]))
  const count = Math.max(rows.length, columns.length)
  return Array.from({ length: count }, (_, n) => [rows[n % rows.length]!, columns[n % columns.length]!])
}

/** So many of the cases of a table, evenly spread, in the quick form; all of them in the others. */
export function sample<Case>(cases: readonly Case[], count: number): readonly Case[] {
  if (IS_FULL || cases.length <= count) return cases
  return Array.from({ length: count }, (_, n) => cases[Math.floor((n * cases.length) / count)]!)
}

/** A test that the quick form leaves out, since it has a cheaper one of its kind. */
export function itInFull(title: string, run: (this: Mocha.Context) => unknown): void {
  if (IS_FULL) it(title, run)
}

/** Tests that the quick form leaves out, since it has cheaper ones of their kind. */
export function describeInFull(title: string, define: (this: Mocha.Suite) => void): void {
  if (IS_FULL) describe(title, define)
}

const choose = <Value>(full: Value, long: Value, quick = full) => (isLong ? long : IS_FULL ? full : quick)

export const ROUNDS = {
  /** Kills of a gateway while clients write rules. */
  kills: choose(1, 20),
  /** After how many acknowledgements a process that appends to the embedded log is killed. */
  killedAfter: choose([1, 75, 150], [1, 20, 75, 150, 300]),
  /** Kills of a gateway while it refuses requests. */
  ledgerKills: choose(1, 20),
  /** Kills of a gateway while it exports records. */
  exportKills: choose(4, 20, 2),
  /** Whether a test waits for a minute until reservations have ended. */
  awaitsExpiry: choose(false, true),
  /** Kills of an event store of one node while clients change rules. */
  storeKills: choose(1, 30),
  /** Kills of the leader of the event store while clients change rules. */
  leaderKills: choose(1, 20),
  /** Kills of a gateway on an event store while clients repeat rule changes until they are acknowledged. */
  gatewayKills: choose(1, 20),
  /** Times that the leader of the event store stops responding. */
  frozenLeaders: choose(1, 5),
  /** When an event store is wiped or exchanged: under a running gateway, or also under a stopped one. */
  replacements: choose(['running'] as const, ['running', 'stopped'] as const),
  /** Kills of a gateway that takes a snapshot of every event. */
  snapshotKills: choose(1, 10),
  /** How a gateway with stored responses ends, again and again. */
  responseStops: choose(
    ['SIGKILL', 'SIGTERM'] as const,
    ['SIGKILL', 'SIGKILL', 'SIGTERM', 'SIGKILL', 'SIGKILL', 'SIGTERM'] as const,
  ),
  /** Streamed responses that are in progress at the same time. */
  storedStreams: choose(150, 1000),
  /** Rule changes of which each must reach the other node. */
  nodeChanges: choose(60, 200),
  /** Rule changes of which each must reach every worker. */
  workerChanges: choose(15, 150, 6),
  /** Pauses of clients during a rolling restart, in milliseconds: on kept-alive and on new connections. */
  restartTraffic: choose(
    { keptAlive: [5, 50, 300, 1000], fresh: [20] },
    { keptAlive: [0, 5, 10, 50, 300, 1000], fresh: [5, 20, 50] },
  ),
  /** Keys that are revoked, of which each must be refused by every worker. */
  workerKeys: choose(9, 30, 3),
  /** Clients that send made-up models, paths, keys and methods. */
  inventedClients: choose(100, 600, 30),
  /** Random histories of rules that are simulated. */
  simulatedHistories: Number(process.env.SIMULATE_HISTORIES ?? choose(10, 300, 3)),
  /** Random calls of tools that are decided again, with rules and definitions changing meanwhile. */
  toolCalls: Number(process.env.TOOL_CALLS ?? choose(500, 5000, 150)),
  /** Random histories of policies, groups, users and plans, whose decisions are decided again. */
  policyHistories: Number(process.env.POLICY_HISTORIES ?? choose(50, 2000, 20)),
  /** Users with random policies and rules, whose requests must obey the policies. */
  precedence: Number(process.env.PRECEDENCE_ROUNDS ?? choose(12, 600, 5)),
  /** Random changes of what operators manage, of each kind. */
  resourceChanges: choose(40, 1000, 10),
  /** Whether fields with the names of methods of objects are sent one by one, or all in each body. */
  separateFieldNames: choose(false, true),
  /** Characters of prose around a text that a rule must find. */
  padding: choose([0, 1e4, 1e5], [0, 1e4, 1e5, 1e6, 19e6], [0, 1e4]),
  /** Changes of the rows, the file, the server and the export of a log, which its checkpoints must find. */
  mutations: choose(5, 500, 3),
  /** Requests of all kinds whose costs are added up. */
  costs: choose(220, 20_000, 60),
  /** Random values that are encoded in time slices. */
  slicedValues: choose(100, 300, 40),
  /** Seeds of made ratings on new kinds of prompts. */
  newKinds: choose([1, 2], [1, 2, 3, 4], [1]),
  /** Faults of which the protocol of reservations must survive any two. */
  protocolFaults: choose(
    [['request', 'answer']] as const,
    [
      ['request', 'answer'],
      ['late', 'repeated', 'flush'],
      ['late', 'empty'],
      ['answer', 'empty'],
      ['answer', 'late', 'crash'],
      ['stale', 'crash'],
      ['stale', 'answer'],
      ['silence', 'answer', 'crash'],
      ['silence', 'flush'],
    ] as const,
  ),
  /** Random series of commands on counters, in Redis and in memory. */
  reservationSeries: choose(40, 200, 6),
  /** Stops of an event store's server under so many writers. */
  outages: choose({ count: 3, writers: 16 }, { count: 3, writers: 16 }, { count: 1, writers: 4 }),
  /** Nodes that start while another one appends. */
  startingNodes: choose(10, 10, 3),
  /** Alternatives of a schema that are merged. */
  mergedSchemas: choose(10_000, 10_000, 2_000),
  /** Seeds of ratings that say nothing, of which no router may be called better. */
  chanceRouters: choose(6, 200, 2),
  /** Seeds of ratings of kinds of prompts that are held out. */
  heldOutKinds: choose([1, 2, 3, 4], [1, 2, 3, 4], [2]),
  /** Requests of each user that what-if evaluates again. */
  pastRequests: choose(25, 25, 6),
  /** Random requests of each dialect that must suit each provider. */
  validRequests: choose(40, 40, 10),
  /** Random patterns of rules that look at streamed replies. */
  replyPatterns: choose(40, 600, 15),
  /** Random bodies that are sent on as they came, except for what was changed. */
  receivedBodies: choose(2000, 20_000, 300),
  /** The same through a gateway. */
  forwardedBodies: choose(500, 20_000, 30),
  /** A factor for the rounds of random input for rules, of which each is 325 bodies. */
  fuzz: Number(process.env.FUZZ_ROUNDS ?? choose(1, 308, 0.2)),
}

/** How long the providers fail altogether in the chaos test, in seconds. */
export const CHAOS_SECONDS = Number(process.env.CHAOS_SECONDS ?? choose(2, 60))

/** For tests whose long form may take an hour on a busy machine. */
export const LONG_TIMEOUT_MS = 3_600_000
