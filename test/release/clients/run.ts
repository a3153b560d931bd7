import { type CalledProviders, startCalledGateway } from './called-gateway.ts'
import type { ClientLanguage } from './language.ts'
import { loadLanguages } from './languages.ts'
import { type CaseResult, runProgram } from './run-program.ts'
import { formatCase, formatTable, isFailure } from './table.ts'

const USAGE = `npm run test:clients -- [--short] [--install] [--newest] [NAME...]
  Runs the client programs whose names start with NAME, by default all. Exits with 1 if a case fails.
  --short    only the programs that the test suite runs, with one model
  --install  only installs their requirements
  --clouds   against Bedrock, Vertex AI and Azure instead of the providers' own APIs
  --newest   installs the newest versions of each registry instead of the pinned ones`

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

interface RunOptions {
  readonly isShort: boolean
  readonly onlyInstall: boolean
  readonly names: readonly string[]
  readonly providers: CalledProviders
}

/** Runs the programs of one language whose names start with one of the given, or all. */
async function runLanguage(
  language: ClientLanguage,
  { isShort, onlyInstall, names, providers }: RunOptions,
): Promise<readonly CaseResult[]> {
  const isNamed = ({ name }: { name: string }) => names.some((start) => name.startsWith(start))
  const chosen = () => language.programs(isShort).filter((program) => names.length === 0 || isNamed(program))
  if (chosen().length === 0) return []
  const missing = await language.whyMissing()
  if (missing !== undefined) {
    return [{ client: language.name, feature: 'program', ok: false, skipped: missing }]
  }
  if (!language.isInstalled(isShort)) print(`installing the clients of ${language.name}`)
  await language.install(isShort)
  if (onlyInstall) return []
  const gateway = await startCalledGateway(isShort, providers)
  const results: CaseResult[] = []
  try {
    for (const program of chosen()) {
      print(`running ${program.name}`)
      results.push(...(await runProgram(program, gateway)))
    }
  } finally {
    await gateway.stop()
  }
  return results
}

async function main(args: readonly string[]): Promise<void> {
  if (args.includes('--help')) return print(USAGE)
  const names = args.filter((arg) => !arg.startsWith('--'))
  const options = {
    isShort: args.includes('--short'),
    onlyInstall: args.includes('--install'),
    names,
    providers: args.includes('--clouds') ? ('clouds' as const) : ('own' as const),
  }
  const results: CaseResult[] = []
  const versions = args.includes('--newest') ? 'newest' : 'pinned'
  for (const language of await loadLanguages(versions))
    results.push(...(await runLanguage(language, options)))
  if (results.length === 0) return
  for (const result of results) {
    if (isFailure(result) || result.skipped !== undefined) print(formatCase(result))
  }
  print(`\n${formatTable(results)}`)
  if (results.some(isFailure)) process.exitCode = 1
}

await main(process.argv.slice(2))
