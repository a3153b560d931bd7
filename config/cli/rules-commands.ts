import { readFileSync } from 'node:fs'
import { dump } from 'js-yaml'
import { isJsonObject } from '../../core/contract/index.ts'
import type { ApplyTerms } from '../../plugins/rules-file/apply.ts'
import type { PlannedChange } from '../../plugins/rules-file/planned.ts'
import { RulesFileSchema, SECTIONS } from '../../plugins/rules-file/schemas.ts'
import { type CommandArgs, DifferencesError, UsageError } from './command.ts'
import { formatPlan } from './format-rules-plan.ts'
import { describeFileIssues, type FileDocument, readDocument } from './read-document.ts'
import { withTarget } from './rules-target.ts'

const SCHEMA_COMMENT =
  '# yaml-language-server: $schema=./node_modules/signalbox/config/rules-file.schema.json'

/** `rules export`: writes what there is as YAML to stdout. */
export function exportRules(args: CommandArgs): Promise<void> {
  const { options, print } = args
  const sections = options.get('only')
  const unknown = sections?.split(',').find((name) => !(SECTIONS as readonly string[]).includes(name))
  if (unknown !== undefined) throw new UsageError(`SECTIONS must be some of ${SECTIONS.join(',')}.`)
  return withTarget(args, async (target) => {
    const file = await target.export({ sections, names: options.has('names') })
    print(`${SCHEMA_COMMENT}\n${dump(file, { noRefs: true, lineWidth: 100 }).trimEnd()}`)
  })
}

/** `rules plan`: prints what applying a file would change, and then throws a `DifferencesError`. */
export function planRules(args: CommandArgs): Promise<void> {
  const { operands, options, print } = args
  const document = readDocument(operands[0] ?? '', RulesFileSchema)
  return withTarget(args, async (target) => {
    const plan = await withLines(document, () => target.plan(document.value))
    if (options.has('json')) print(JSON.stringify(plan))
    else {
      for (const line of formatPlan(plan)) print(line)
      print(`Planned at position ${plan.position} of the event log.`)
    }
    if (plan.changes.length > 0) throw new DifferencesError()
  })
}

/** `rules apply`: makes the changes, and prints what was done for each stream. */
export function applyRules(args: CommandArgs): Promise<void> {
  const { operands, print } = args
  const document = readDocument(operands[0] ?? '', RulesFileSchema)
  const terms = parseTerms(args)
  return withTarget(args, async (target) => {
    const result = await withLines(document, () => target.apply(document.value, terms))
    for (const line of formatPlan({ ...result, warnings: result.warnings })) print(line)
    for (const { stream, title } of result.applied) print(`Applied ${title} (${stream}).`)
  })
}

/** Names the line of each issue that the target finds in a file. */
async function withLines<Result>(
  document: FileDocument<unknown>,
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    throw describeFileIssues(error, document)
  }
}

function parseTerms({ options }: CommandArgs): ApplyTerms {
  const position = options.get('position')
  const file = options.get('plan')
  if (position !== undefined && !/^\d{1,15}$/.test(position))
    throw new UsageError('POSITION must be the position of a plan, an integer.')
  return {
    ...(position !== undefined && { position: Number(position) }),
    ...(file !== undefined && { changes: readPlan(file) }),
  }
}

/** Reads the changes from the output of `rules plan --json`. */
function readPlan(file: string): readonly PlannedChange[] {
  const text = readFileSync(file, 'utf8')
  try {
    const plan: unknown = JSON.parse(text)
    // They are compared with the changes that the file leads to, and used for nothing else.
    if (isJsonObject(plan) && Array.isArray(plan.changes)) return plan.changes
  } catch {
    // Reported below.
  }
  throw new Error(`${file} must be the output of "signalbox rules plan FILE --json".`)
}
