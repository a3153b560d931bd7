import { parseTime } from '../../core/util/as-of.ts'
import { createToolServerState } from '../../plugins/mcp/servers/state.ts'
import type { McpSettings } from '../../plugins/mcp/settings.ts'
import { createResponseStore } from '../../plugins/responses/store.ts'
import { type RulesFile, RulesFileSchema } from '../../plugins/rules-file/schemas.ts'
import { runWhatIf } from '../../plugins/what-if/run-what-if.ts'
import { type ShownWhatIf, WHAT_IF_LIMIT } from '../../plugins/what-if/schemas.ts'
import { ACCESS_STREAM } from '../../projections/events/access.ts'
import { openOwnLedger } from '../gateway/ledger.ts'
import { openWhatIfThread } from '../gateway/what-if-thread.ts'
import { type CommandArgs, UsageError } from './command.ts'
import { authorOf, withGateway } from './command-state.ts'
import { formatWhatIf } from './format-what-if.ts'
import { describeFileIssues, readDocument } from './read-document.ts'
import { createRemoteGateway, remoteUrl } from './remote-gateway.ts'

interface Question {
  readonly file: RulesFile
  /** Unix time in milliseconds. */
  readonly since: number
  readonly limit: number
  readonly userId: number | undefined
}

/** `what-if`: prints what the rules of a file would have done to recorded requests. */
export async function printWhatIf(args: CommandArgs): Promise<void> {
  const { operands, options, print } = args
  const document = readDocument(operands[0] ?? '', RulesFileSchema)
  const question = { file: document.value, ...parseOptions(args) }
  const url = remoteUrl(args)
  const evaluated = url ? evaluateRemotely(url, question, args) : evaluateHere(question, args)
  const result = await evaluated.catch((error: unknown) => {
    throw describeFileIssues(error, document)
  })
  if (options.has('json')) print(JSON.stringify(result))
  else for (const line of formatWhatIf(result)) print(line)
  // A script must not take zeros for an answer.
  const unanswered = result.limitations.find(({ code }) => UNANSWERED.has(code))
  if (unanswered !== undefined) throw new Error(unanswered.message)
}

const UNANSWERED: ReadonlySet<string> = new Set(['no_requests', 'nothing_evaluated'])

function parseOptions({ options }: CommandArgs): Omit<Question, 'file'> {
  const user = options.get('user')
  const limit = Number(options.get('limit') ?? WHAT_IF_LIMIT.max)
  if (!Number.isInteger(limit) || limit < 1 || limit > WHAT_IF_LIMIT.max)
    throw new UsageError(`COUNT must be an integer from 1 to ${WHAT_IF_LIMIT.max}.`)
  if (user !== undefined && !/^[1-9]\d{0,14}$/.test(user))
    throw new UsageError('USER must be the id of a user.')
  return {
    since: parseSince(options.get('since') ?? '7d'),
    limit,
    userId: user === undefined ? undefined : Number(user),
  }
}

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A duration up to now, such as `7d`, or a time. */
function parseSince(text: string): number {
  const [, count, unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? []
  if (count !== undefined) return Date.now() - Number(count) * (UNIT_MS[unit] ?? 0)
  const time = parseTime(text)
  if (time !== undefined) return Date.parse(time)
  throw new UsageError('SINCE must be a duration such as 7d, 12h or 30m, or an ISO 8601 time or date.')
}

function evaluateRemotely(
  url: string,
  { file, since, limit, userId }: Question,
  args: CommandArgs,
): Promise<ShownWhatIf> {
  const query = new URLSearchParams({
    since: new Date(since).toISOString(),
    limit: String(limit),
    ...(userId !== undefined && { user: String(userId) }),
  })
  return createRemoteGateway(url, args).call(`/admin/what-if?${query}`, { file, examples: 0 })
}

/** Reads the ledger that the settings name. Because prompts are read, it is an entry in the audit trail. */
async function evaluateHere(
  { file, since, limit, userId }: Question,
  args: CommandArgs,
): Promise<ShownWhatIf> {
  const author = authorOf(args)
  return withGateway(args.environment, async (state, settings, logger) => {
    const ledger = openOwnLedger(settings, state.logId, logger)
    const thread = openWhatIfThread(settings, settings, state.logId, process.cwd())
    const data = { read: 'prompts', operation: 'what-if', path: '', query: `since ${since}` } as const
    const decide = () => [{ type: 'DataRead', data } as const]
    try {
      await state.writer.write({ stream: ACCESS_STREAM, decide, isInternal: true, isRecord: true }, author)
      const filter = { since, ...(userId !== undefined && { userId }) }
      const services = {
        ...state,
        thread,
        findResponse: createResponseStore(ledger, state.accounts, 0).find,
        listToolServers: createToolServerState(state.toolServers, (settings.mcp as McpSettings).servers).list,
        settleLedger: async () => void (await ledger.find('')),
      }
      const { signal } = new AbortController()
      return await runWhatIf({ file, filter, limit, examples: 0 }, services, signal)
    } finally {
      await thread.close()
      await ledger.close()
    }
  })
}
