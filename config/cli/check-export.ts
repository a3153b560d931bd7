import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { isJsonObject, type Plugin, type RecordedEvent } from '../../core/contract/index.ts'
import { isEventMetadata } from '../../core/event-log/actor.ts'
import { CHECKPOINTS_STREAM, LOG_STREAM } from '../../core/event-log/streams.ts'
import {
  formatVerifierKey,
  isSignedBy,
  type SignedCheckpoint,
  type VerifierKey,
} from '../../core/event-log/transparency/checkpoint.ts'
import { parseStoredCheckpoint } from '../../core/event-log/transparency/checkpoint-stream.ts'
import { createTreeVerifier } from '../../core/event-log/transparency/verify-tree.ts'
import { parseJson } from '../../core/util/json.ts'
import { isFollowed } from '../../projections/events/streams.ts'
import { formatExportedEvent } from './export-log.ts'
import { createPluginChecker } from './verify-log.ts'
import { createRecordChecker } from './verify-records.ts'

/** What a complete export says about itself. */
interface CheckedExport {
  /** Sentences about the content. */
  readonly facts: readonly string[]
  /** Id of the log that was exported; undefined for one without an identity. */
  readonly logId: string | undefined
  /** The keys that its checkpoints name. */
  readonly keys: readonly VerifierKey[]
}

export interface ExportCheckOptions {
  /** A checkpoint that the file must extend. */
  readonly saved?: SignedCheckpoint | undefined
  /** Accepts a file whose events no checkpoint covers. */
  readonly allowsUncovered?: boolean
}

/** A gateway signs after 1,000 events. */
const MAX_UNCOVERED = 1000

/** Whoever cuts checkpoints off can change the events that they cover. */
function refuseUncovered(uncovered: number | undefined): void {
  if (uncovered !== undefined && uncovered <= MAX_UNCOVERED + 1) return
  const found =
    uncovered === undefined
      ? 'the file holds no checkpoint: it was cut, or none was signed'
      : `the file has ${uncovered} events behind the newest checkpoint`
  throw new Error(
    `Nothing was imported, because ${found}, and changes of such events cannot be found. Run ` +
      '"signalbox log checkpoint" before the export, or import with --without-checkpoints to trust the file.',
  )
}

/**
 * Throws with all issues, such as a gap, an event in the wrong stream, one that cannot be read, or one that
 * does not match the checkpoints or the saved one, and if checkpoints are missing.
 */
export async function checkExport(
  file: string,
  plugins: readonly Plugin[],
  { saved, allowsUncovered = false }: ExportCheckOptions = {},
): Promise<CheckedExport> {
  const { checkpoints, logId } = await readEvidence(file)
  const keys = new Map<string, VerifierKey>()
  for (const { key } of checkpoints.flatMap((record) => parseStoredCheckpoint(record) ?? []))
    keys.set(formatVerifierKey(key), key)
  // The file cannot say whose keys they are: they are shown, and trusted by the one who imports it.
  const accepts: Parameters<typeof createTreeVerifier>[0]['accepts'] = ({ note, origin }) =>
    [...keys.values()].some((key) => isSignedBy(note, { ...key, name: origin }))
  const tree = createTreeVerifier({ checkpoints, logId, accepts, saved })
  const checker = createRecordChecker(createPluginChecker(plugins).findIssue)
  for await (const event of readEvents(file, parseExportedEvent)) {
    checker.check(event)
    if (isFollowed(event.stream)) tree.check(event)
  }
  const issues = [...tree.issues(), ...checker.issues()]
  if (issues.length > 0)
    throw new Error(`Nothing was imported, because the file is not a complete export:\n${issues.join('\n')}`)
  const uncovered = tree.uncovered()
  if (!allowsUncovered) refuseUncovered(uncovered)
  const rest =
    uncovered && uncovered > 1 ? [`No checkpoint covers the last ${uncovered} events of the file.`] : []
  const signed = [...keys.keys()].map((key) => `Checkpoints are signed with ${key}.`)
  return { facts: [...checker.facts(), ...tree.facts(), ...rest, ...signed], logId, keys: [...keys.values()] }
}

/** Reads the checkpoints and the identity of an export, before the events that they are compared with. */
async function readEvidence(file: string) {
  const checkpoints: RecordedEvent[] = []
  let logId: string | undefined
  for await (const line of readLines(file)) {
    if (!EVIDENCE_STREAM.test(line)) continue
    const event = parseExportedEvent(line)
    if (event?.stream === CHECKPOINTS_STREAM) checkpoints.push(event)
    if (event?.stream === LOG_STREAM && typeof event.data.id === 'string') logId = event.data.id
  }
  return { checkpoints, logId }
}

/** Tells most lines apart without parsing them. */
const EVIDENCE_STREAM = new RegExp(`"stream"\\s*:\\s*"(?:${CHECKPOINTS_STREAM}|${LOG_STREAM})"`)

/**
 * Yields the events of a file that `checkExport` has accepted. Throws at the first line that is not an event.
 */
export function readExport(file: string): AsyncGenerator<RecordedEvent> {
  return readEvents(file, parseEvent)
}

async function* readEvents(
  file: string,
  parse: (line: string) => RecordedEvent | undefined,
): AsyncGenerator<RecordedEvent> {
  let number = 0
  for await (const line of readLines(file)) {
    number += 1
    const event = parse(line)
    if (event === undefined)
      throw new Error(`Line ${number} of ${file} is not an event in the format of "signalbox log export".`)
    yield event
  }
}

function readLines(file: string): AsyncIterable<string> {
  return createInterface({ input: createReadStream(file), crlfDelay: Infinity })
}

/** Returns undefined for a line that is not an exported event, to the byte. */
function parseExportedEvent(line: string): RecordedEvent | undefined {
  const event = parseEvent(line)
  return event !== undefined && formatExportedEvent(event) === line ? event : undefined
}

function parseEvent(line: string): RecordedEvent | undefined {
  const value = parseJson(line)
  return isRecordedEvent(value) ? value : undefined
}

function isRecordedEvent(value: unknown): value is RecordedEvent {
  if (!isJsonObject(value) || !isJsonObject(value.data) || !isJsonObject(value.metadata)) return false
  const { position, stream, revision, type, metadata } = value
  return (
    Number.isSafeInteger(position) &&
    Number.isSafeInteger(revision) &&
    typeof stream === 'string' &&
    typeof type === 'string' &&
    isEventMetadata(metadata)
  )
}
