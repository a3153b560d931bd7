import { optional } from '../../core/contract/index.ts'
import { CLI_ACTOR } from '../../core/event-log/actor.ts'
import { ToolDecisions } from '../../plugins/mcp/index.ts'
import { applyFile } from '../../plugins/rules-file/apply.ts'
import { type CaseResult, RuleCasesSchema, runCases } from '../../plugins/rules-file/run-cases.ts'
import { type RulesFile, RulesFileSchema } from '../../plugins/rules-file/schemas.ts'
import { seedState } from '../../plugins/rules-file/seed-state.ts'
import { openEmptyState } from '../gateway/empty-state.ts'
import type { OfflineGateway } from '../gateway/offline-gateway.ts'
import type { CommandArgs } from './command.ts'
import { withGateway } from './command-state.ts'
import { formatColumns } from './output.ts'
import { describeFileIssues, readDocument } from './read-document.ts'

/**
 * `rules test`: decides about requests with the rules of a file, or of the event log of the settings. Prints
 * what is not as expected, and then throws an error.
 */
export async function testRules({ operands, options, environment, print }: CommandArgs): Promise<void> {
  const { value } = readDocument(operands[0] ?? '', RuleCasesSchema)
  const rulesFile = options.get('rules')
  const document = rulesFile === undefined ? undefined : readDocument(rulesFile, RulesFileSchema)
  const test = async (services: TestServices) => {
    try {
      if (document) await applyToEmptyState(document.value, services)
      const tools = await services.use({ toolDecisions: optional(ToolDecisions) })
      report(await runCases(value.cases, { ...services, ...tools }), print)
    } catch (error) {
      throw document ? describeFileIssues(error, document) : error
    }
  }
  await withGateway(environment, test, document && openEmptyState)
}

type TestServices = Parameters<typeof applyToEmptyState>[1] &
  Omit<Parameters<typeof runCases>[1], 'toolDecisions'> &
  Pick<OfflineGateway, 'use'>

/** Budgets decide about requests that are sent, and are not tested. */
async function applyToEmptyState(
  { budgets: _, ...file }: RulesFile,
  services: Parameters<typeof applyFile>[2],
): Promise<void> {
  const author = { actor: CLI_ACTOR }
  await seedState(file, services.writer, author)
  await applyFile(file, {}, services, author)
}

function report(results: readonly CaseResult[], print: CommandArgs['print']): void {
  const failed = results.filter(({ mismatches }) => mismatches.length > 0)
  const rows = failed.flatMap(({ name, mismatches }) =>
    mismatches.map(({ field, expected, got }) => [name, field, expected, got]),
  )
  if (rows.length > 0)
    for (const line of formatColumns([['CASE', 'FIELD', 'EXPECTED', 'GOT'], ...rows])) print(line)
  const count = results.length === 1 ? '1 case' : `${results.length} cases`
  if (failed.length > 0) throw new Error(`${failed.length} of ${count} failed.`)
  print(`${count} passed.`)
}
