import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type Guide, GuideRunner, readGuide } from '../support/guides.ts'
import { skip } from '../support/skip.ts'
import { listFiles } from '../support/source-files.ts'

/** What the guides say that their commands need. */
const TOOLS = ['bash', 'curl', 'jq', 'openssl', 'sqlite3']

const PAGES = ['README.md', 'docs/start.md', ...listFiles('docs/guides', '.md')].map(
  (page) => [page, readGuide(page)] as const,
)

const isRun = ({ blocks }: Guide) => blocks.some(({ notRun }) => notRun === undefined)

describe('the commands', () => {
  before(async function () {
    for (const tool of TOOLS)
      await promisify(execFile)('sh', ['-c', `command -v ${tool}`]).catch(() =>
        skip(this, `${tool} is not installed`),
      )
  })

  for (const [page, guide] of PAGES.filter(([, guide]) => isRun(guide)))
    it(`of ${page} can be pasted in order`, async function () {
      this.timeout(120_000)
      const runner = await GuideRunner.start()
      try {
        for (const each of [...listPagesBefore(guide), guide]) await runAll(runner, each)
      } finally {
        await runner.stop()
      }
    })
})

/** The pages that a reader has followed, in order. */
function listPagesBefore({ after }: Guide): readonly Guide[] {
  if (after === undefined) return []
  const guide = readGuide(after)
  return [...listPagesBefore(guide), guide]
}

async function runAll(runner: GuideRunner, { blocks }: Guide): Promise<void> {
  for (const { script, notRun, line } of blocks)
    if (notRun === undefined)
      await runner.run(script).catch((error) => {
        throw new Error(`line ${line}: ${error.message}`)
      })
}
