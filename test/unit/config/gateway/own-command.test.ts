import { expect } from 'chai'
import { ownCommand } from '../../../../config/gateway/demo-user.ts'

describe('the command that hints name', () => {
  for (const [script, folder, command] of [
    ['/app/node_modules/.bin/signalbox', '/app', 'npx signalbox'],
    ['/clone/dist/program/main.js', '/clone', 'node dist/program/main.js'],
    ['/clone/dist/program/main.js', '/plugins', 'node /clone/dist/program/main.js'],
  ] as const)
    it(`is "${command}" for ${script} in ${folder}`, () => {
      expect(ownCommand(script, folder)).to.equal(command)
    })
})
