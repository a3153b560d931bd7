import path from 'node:path'
import { expect } from 'chai'
import { makeFolder } from '../support/folders.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import {
  ask,
  EXPORT_SECRET,
  type ExportedBody,
  exportingTo,
  exportsBegan,
  idOf,
  readLines,
  recordedIds,
} from '../support/ledger-export.ts'
import { ROUNDS } from '../support/rounds.ts'
import { withSettings } from '../support/settings.ts'
import { startSignedWebhook } from '../support/signed-webhook.ts'
import { waitUntil } from '../support/wait.ts'

describe('the ledger export of a process that is killed', () => {
  it('loses no record, and repeats only what was on its way', async function () {
    this.timeout(240_000)
    let gateway: GatewayProcess | undefined
    /** The post whose sender is killed before there is an answer. */
    let fatal = 0
    let posts = 0
    const hook = await startSignedWebhook<ExportedBody>(EXPORT_SECRET, () => {
      posts += 1
      if (posts !== fatal) return undefined
      gateway?.process.kill('SIGKILL')
      return new Promise(() => undefined)
    })
    const folder = path.join(await makeFolder(), 'exported')
    const settings = exportingTo([
      { to: 'webhook', url: hook.url, batch_records: 3 },
      { to: 'file', folder, batch_records: 5 },
    ])
    const environment = { ...(await withSettings(settings)), LEDGER_EXPORT_SECRET: EXPORT_SECRET }
    let from: { dataDir: string; demoKey: string } | undefined
    const kills = ROUNDS.exportKills
    for (let kill = 1; kill <= kills; kill++) {
      const running = await startGatewayProcess(environment, from)
      gateway = running
      from = { dataDir: running.dataDir, demoKey: running.demoKey }
      if (kill === 1) await exportsBegan(running, 2)
      fatal = posts + 1 + (kill % 3)
      const hasEnded = () => running.process.signalCode !== null
      while (!hasEnded()) await Promise.all(Array.from({ length: 4 }, () => ask(running).catch(() => '')))
    }
    fatal = 0
    const last = await startGatewayProcess(environment, from)
    gateway = last
    await ask(last)
    const recorded = await recordedIds(last)
    const posted = () => hook.bodies.flatMap(({ data }) => data.records)
    const isComplete = (lines: readonly (string | undefined)[]) => new Set(lines).size === recorded.length
    await waitUntil(() => isComplete(posted().map(idOf)))
    await waitUntil(async () => isComplete((await readLines(folder)).map(idOf)))
    await last.stop()

    expect(new Set(posted().map(idOf))).to.deep.equal(new Set(recorded))
    // A post that was repeated is the same post.
    const bodies = new Map(hook.ids.map((id, index) => [id, hook.bodies[index]?.data.records.map(idOf)]))
    const numbers = [...bodies.values()].flat()
    expect(new Set(numbers).size).to.equal(numbers.length)
    expect(hook.ids.length - bodies.size).to.equal(kills)
    for (const [index, id] of hook.ids.entries())
      expect(hook.bodies[index]?.data.records.map(idOf)).to.deep.equal(bodies.get(id))
    const sequence = [...bodies.keys()].map((id) => Number(/\.(\d+)-/.exec(id)?.[1]))
    expect(sequence).to.deep.equal(sequence.toSorted((a, b) => a - b))
    // The file has each record once, in order.
    const lines = await readLines(folder)
    expect(lines.map(idOf)).to.have.members(recorded)
    expect(lines.map(({ number }) => number)).to.deep.equal(
      lines.map(({ number }) => number).toSorted((a, b) => a - b),
    )
    hook.close()
  })
})
