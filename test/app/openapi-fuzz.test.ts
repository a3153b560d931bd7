import { execFile, spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { makeFolder } from '../support/folders.ts'
import { ADMIN_KEY, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import type { Loose } from '../support/openapi.ts'
import { skip } from '../support/skip.ts'

/** The command of schemathesis (PyPI). Set it to one in a virtual environment if it is not in the path. */
const COMMAND = process.env.SCHEMATHESIS ?? 'schemathesis'

function whyNotFuzzed(): string | undefined {
  if (process.env.TEST_LONG !== '1') return 'set TEST_LONG=1 to run long tests'
  const { status } = spawnSync(COMMAND, ['--version'])
  return status === 0 ? undefined : `${COMMAND} is not installed; run pip install schemathesis`
}

/**
 * Valid requests may be refused: a rule has another revision, a cursor or response does not exist, or a rule
 * in a batch lacks a field of its kind. Rules in the document cannot express this.
 *
 * Content parts and tools of kinds that the gateway does not know are passed on: providers may know them. GET
 * /v1/responses opens a WebSocket, which the document leaves out, and is 426 otherwise.
 *
 * All other checks are on by default. The option --checks would override these settings.
 */
const SETTINGS = `
[checks]
positive_data_acceptance.enabled = false
# By default, all of these but 412: a header If-Match is evaluated before values in the body.
negative_data_rejection.expected-statuses = [
  400, 401, 403, 404, 405, 406, 409, 412, 415, 422, 428, 429, "5xx"
]

# Who has just been created has no budget to read.
[[operations]]
include-operation-id = ["readUserBudget", "readKeyBudget", "readGroupBudget"]
checks.ensure_resource_availability.enabled = false

[[operations]]
include-operation-id = "createResponse"
checks.negative_data_rejection.enabled = false
checks.unsupported_method.enabled = false
checks.allow_header_conformance.enabled = false

[[operations]]
include-operation-id = [
  "createChatCompletion", "simulate", "createMessage", "countMessageTokens", "compactResponse",
  "countInputTokens"
]
checks.negative_data_rejection.enabled = false
`

/** Maximum time of one run, in seconds. */
const MAX_SECONDS = 900

describe('every endpoint, with requests that schemathesis makes up', function () {
  this.timeout(1_200_000)
  let gateway: RunningGateway
  let folder: string
  let userKey: string

  before(async function () {
    const reason = whyNotFuzzed()
    if (reason !== undefined) skip(this, reason)
    gateway = await startGateway()
    userKey = (await newUser(gateway)).key
    const { body } = await gateway.call('GET', '/openapi.json')
    folder = await makeFolder()
    await writeFile(path.join(folder, 'openapi.json'), JSON.stringify(withoutEventSchemas(body)))
    await writeFile(path.join(folder, 'schemathesis.toml'), SETTINGS)
  })
  after(() => gateway?.stop())

  for (const { caller, address = 'main', key = 'user' } of [
    { caller: 'a user' },
    { caller: 'an operator', key: 'admin' },
    { caller: 'nobody', key: 'none' },
    { caller: 'a user of direct routing', address: 'direct' },
    { caller: 'nobody at direct routing', address: 'direct', key: 'none' },
  ]) {
    it(`behaves as described for ${caller}`, async () => {
      const keys: Readonly<Record<string, string>> = { user: userKey, admin: ADMIN_KEY }
      const token = keys[key]
      const output = await fuzz(folder, [
        'openapi.json',
        ...['--url', address === 'main' ? gateway.url : gateway.routeUrl],
        ...(token === undefined ? [] : ['--header', `Authorization: Bearer ${token}`]),
        ...[address === 'main' ? '--exclude-path' : '--include-path', '/route'],
        ...['--continue-on-failure', '--no-color', '--warnings', 'off'],
        ...[
          '--request-timeout',
          '60',
          '--max-time',
          String(MAX_SECONDS),
          '--max-examples',
          '10',
          '--seed',
          '20261122',
        ],
      ])
      expect(output).to.equal('')
    })
  }
})

/** Resolves with the output if there are failures, otherwise with an empty string. */
function fuzz(folder: string, parameters: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(
      COMMAND,
      ['run', ...parameters],
      { cwd: folder, maxBuffer: 100_000_000 },
      (error, stdout, stderr) => resolve(error === null ? '' : `${stdout}${stderr}`),
    )
  })
}

/**
 * Schemathesis validates the SSE record instead of the JSON in its data, which is what the schemas describe
 * and test/app/openapi.test.ts validates.
 */
function withoutEventSchemas(document: Loose): Loose {
  return JSON.parse(JSON.stringify(document), (key, value) => (key === 'text/event-stream' ? {} : value))
}
