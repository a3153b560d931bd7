import type streams from '@eventstore/db-client/generated/streams_pb.js'
import type { StoredEvent } from './records.ts'

/** The filter of a read of `$all`. */
export interface Filter {
  passes(event: StoredEvent): boolean
  /** Number of scanned events between two checkpoints. */
  readonly checkpointInterval: number
}

const DEFAULT_WINDOW = 32

type FilterOptions = InstanceType<typeof streams.ReadReq.Options.FilterOptions>
type Expression = InstanceType<typeof streams.ReadReq.Options.FilterOptions.Expression>

export function parseFilter(options: FilterOptions | undefined): Filter {
  if (!options) return { passes: () => true, checkpointInterval: Number.POSITIVE_INFINITY }
  const onStream = parseExpression(options.getStreamIdentifier())
  const onType = parseExpression(options.getEventType())
  const window = options.hasMax() ? options.getMax() : DEFAULT_WINDOW
  return {
    passes: ({ stream, type }) => onStream(stream) && onType(type),
    checkpointInterval: window * options.getCheckpointintervalmultiplier(),
  }
}

function parseExpression(expression: Expression | undefined): (text: string) => boolean {
  if (!expression) return () => true
  const prefixes = expression.getPrefixList()
  if (prefixes.length > 0) return (text) => prefixes.some((prefix) => text.startsWith(prefix))
  const pattern = new RegExp(expression.getRegex())
  return (text) => pattern.test(text)
}
