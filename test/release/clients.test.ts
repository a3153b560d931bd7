import { skip } from '../support/skip.ts'
import { startCalledGateway } from './clients/called-gateway.ts'
import { loadLanguages } from './clients/languages.ts'
import { runProgram } from './clients/run-program.ts'
import { formatCase, isFailure } from './clients/table.ts'

const LANGUAGES = await loadLanguages()

/** The short form of `npm run test:clients`. It installs nothing. */
for (const [providers, title] of [
  ['own', 'client libraries'],
  ['clouds', 'client libraries, with Bedrock, Vertex AI and Azure as providers,'],
] as const)
  describe(title, () => {
    let gateway: Awaited<ReturnType<typeof startCalledGateway>>

    before(async () => {
      gateway = await startCalledGateway(true, providers)
    })
    after(() => gateway?.stop())

    for (const language of LANGUAGES) {
      for (const program of language.programs(true)) {
        it(`pass their cases: ${program.name}`, async function () {
          const missing = await language.whyMissing()
          if (missing !== undefined) skip(this, missing)
          if (!language.isInstalled(true)) {
            skip(this, `npm run test:clients -- --short --install installs it: ${program.name}`)
          }
          const results = await runProgram(program, gateway)
          const failures = results.filter(isFailure).map(formatCase)
          if (failures.length > 0) throw new Error(failures.join('\n'))
        })
      }
    }
  })
