import assert from 'node:assert/strict'
import { test } from 'node:test'
import plugin from './index.js'

const [{ format, fields }] = plugin.setup({}).providers

test('has the name that the setting format selects', () => {
  assert.equal(format, 'acme')
})

test('sends what the provider accepts', () => {
  assert.equal(fields.max_completion_tokens.name, 'max_tokens')
  assert.equal(fields.temperature.convert(1.5), 1)
  assert.equal(fields.logit_bias.name, null)
})
