import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { CONTRACT_VERSION } from 'signalbox'
import plugin from './index.js'

test('is written for the contract of the installed gateway', () => {
  assert.equal(plugin.contract, CONTRACT_VERSION)
})

test('is accepted by the installed gateway, with its place in the list', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'plugin-'))
  try {
    const CONFIG = path.join(folder, 'settings.yaml')
    const use = fileURLToPath(new URL('index.js', import.meta.url))
    writeFileSync(CONFIG, JSON.stringify({ plugins: { add: [{ use, before: 'firewall' }] } }))
    const output = execFileSync(process.execPath, [findGateway(), 'config', 'check'], {
      encoding: 'utf8',
      env: { ...process.env, CONFIG },
    })
    assert.match(output, /The settings and plugins are valid\./)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

/** The program of the installed package `signalbox`. */
function findGateway() {
  const manifest = fileURLToPath(import.meta.resolve('signalbox/package.json'))
  return path.join(path.dirname(manifest), JSON.parse(readFileSync(manifest, 'utf8')).bin.signalbox)
}
