import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import ts from 'typescript'
import { ROOT } from '../support/root.ts'

/** The interfaces that docs/plugins.md describes, by file of the contract, and the heading of each. */
const DOCUMENTED = {
  'plugin.ts': {
    Plugin: 'The plugin',
    PluginParts: 'The plugin',
    Host: 'The plugin',
    EventDeclaration: 'Events',
  },
  'exchange.ts': {
    Exchange: 'The exchange',
    ReplyingExchange: 'The exchange',
    RepliedExchange: 'The exchange',
    Attempt: 'The exchange',
    Decoration: 'The exchange',
    Route: 'The exchange',
  },
  'chat.ts': { Usage: 'The exchange', ReplyTransform: 'Phases' },
  'reply-text.ts': { TextReplacement: 'Phases' },
  'http.ts': { EndedRequest: 'The ended request' },
} as const

const page = readFileSync(new URL('docs/plugins.md', ROOT), 'utf8')

describe('docs/plugins.md', () => {
  for (const [file, interfaces] of Object.entries(DOCUMENTED)) {
    const source = readFileSync(new URL(`core/contract/${file}`, ROOT), 'utf8')
    const { statements } = ts.createSourceFile(file, source, ts.ScriptTarget.Latest)
    for (const [name, heading] of Object.entries(interfaces)) {
      it(`names every field of ${name}`, () => {
        const declaration = statements.find(
          (statement): statement is ts.InterfaceDeclaration =>
            ts.isInterfaceDeclaration(statement) && statement.name.text === name,
        )
        const fields = declaration?.members.map((member) =>
          member.name && ts.isIdentifier(member.name) ? member.name.text : '',
        )
        expect(fields).not.to.equal(undefined)
        const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? ''
        const code = [...section.matchAll(/`+[^`]+`+/g)].join(' ')
        expect(fields?.filter((field) => !new RegExp(`\\b${field}\\b`).test(code))).to.deep.equal([])
      })
    }
  }
})
