import { rm } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { type Answer, AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'

describe('groups', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  const admin = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    gateway.call(method, path, body, { ...AS_ADMIN, ...headers })
  const create = async (fields: object = {}) =>
    (await admin('POST', '/admin/groups', { name: 'Support', ...fields })).body.data
  const groupsOf = async (userId: number) => {
    const { body } = await admin('GET', '/admin/users?limit=1000')
    return body.data.find(({ id }: { id: number }) => id === userId).groups
  }
  const membersOf = async (id: number) => (await admin('GET', `/admin/groups/${id}/members`)).body.data
  const expectError = ({ status, headers, body }: Answer, expected: [number, string]) => {
    expect([status, headers.get('x-error-code')], JSON.stringify(body)).to.deep.equal(expected)
  }

  it('are created, read, updated and deleted', async () => {
    const created = await admin('POST', '/admin/groups', { name: 'Support' })
    expect(created.status).to.equal(201)
    expect(created.headers.get('etag')).to.equal('"1"')
    const { id, created_at, ...fields } = created.body.data
    expect(fields).to.deep.equal({ name: 'Support', description: null, updated_at: created_at })

    const changed = await admin('PATCH', `/admin/groups/${id}`, { description: 'Answers customers' })
    expect(changed.status).to.equal(200)
    expect(changed.body.data).to.include({
      id,
      name: 'Support',
      description: 'Answers customers',
      created_at,
    })
    const read = await admin('GET', `/admin/groups/${id}`)
    expect(read.body).to.deep.equal(changed.body)
    expect(read.headers.get('etag')).to.equal('"2"')
    expect((await admin('GET', '/admin/groups')).body.data).to.deep.include(changed.body.data)

    expect((await admin('DELETE', `/admin/groups/${id}`)).body).to.deep.equal({ success: true })
    expectError(await admin('GET', `/admin/groups/${id}`), [404, 'not_found'])
    expectError(await admin('DELETE', `/admin/groups/${id}`), [404, 'not_found'])
  })

  it('are found by a part of the name or by the id, in pages', async () => {
    const ids: number[] = []
    for (const name of ['Night shift', 'night watch', 'Day shift']) ids.push((await create({ name })).id)
    const find = async (query: string) => {
      const { status, body } = await admin('GET', `/admin/groups?${query}`)
      expect(status, query).to.equal(200)
      return [body.data.map(({ id }: { id: number }) => id), body.next_cursor]
    }
    expect(await find('q=NIGHT')).to.deep.equal([[ids[0], ids[1]], null])
    expect(await find(`q=${ids[2]}`)).to.deep.equal([[ids[2]], null])
    const [first, cursor] = await find('q=night&limit=1')
    expect(first).to.deep.equal([ids[0]])
    expect(await find(`q=night&limit=1&cursor=${cursor}`)).to.deep.equal([[ids[1]], null])
    expect(await find('q=nobody')).to.deep.equal([[], null])
    expectError(await admin('GET', '/admin/groups?q='), [400, 'invalid_value'])
  })

  it('have members, who are shown with the group and whose groups are shown with them', async () => {
    const [ada, ben] = [await newUser(gateway), await newUser(gateway)]
    const [first, second] = [await create(), await create()]
    const memberPath = (group: { id: number }, user: { id: number }) =>
      `/admin/groups/${group.id}/members/${user.id}`
    for (const user of [ben, ada])
      expect((await admin('PUT', memberPath(first, user))).body).to.deep.equal({ success: true })
    await admin('PUT', memberPath(second, ada))
    await admin('PUT', memberPath(second, ada))

    expect(await groupsOf(ada.id)).to.deep.equal([first.id, second.id])
    expect(await membersOf(first.id)).to.deep.equal([
      { id: ada.id, name: 'someone' },
      { id: ben.id, name: 'someone' },
    ])
    const page = await admin('GET', `/admin/groups/${first.id}/members?limit=1`)
    expect(page.body.data).to.have.length(1)
    const next = await admin('GET', `/admin/groups/${first.id}/members?cursor=${page.body.next_cursor}`)
    expect(next.body).to.deep.equal({ data: [{ id: ben.id, name: 'someone' }], next_cursor: null })

    await admin('DELETE', memberPath(second, ada))
    await admin('DELETE', memberPath(second, ada))
    expect(await groupsOf(ada.id)).to.deep.equal([first.id])
    await admin('DELETE', `/admin/groups/${first.id}`)
    expect(await groupsOf(ada.id)).to.deep.equal([])
    expect(await groupsOf(ben.id)).to.deep.equal([])
  })

  it('lose a member who is deleted', async () => {
    const ada = await newUser(gateway)
    const { id } = await create()
    await admin('PUT', `/admin/groups/${id}/members/${ada.id}`)
    await admin('DELETE', `/admin/users/${ada.id}`)
    expect(await membersOf(id)).to.deep.equal([])
  })

  it('are in the audit of their members', async () => {
    const ada = await newUser(gateway)
    const { id } = await create()
    await admin('PUT', `/admin/groups/${id}/members/${ada.id}`)
    await admin('DELETE', `/admin/groups/${id}/members/${ada.id}`)

    const [removed, added] = (await ada.call('GET', '/v1/audit?kind=user')).body.data
    expect(added).to.include({ event: 'added_to_group', id: ada.id })
    expect(added.actor).to.include({ type: 'root' })
    expect([added.before.groups, added.after.groups]).to.deep.equal([[], [id]])
    expect(removed).to.include({ event: 'removed_from_group' })
    expect([removed.before.groups, removed.after.groups]).to.deep.equal([[id], []])
  })

  it('survive a restart, with and without a snapshot', async () => {
    const first = await startGateway()
    const ada = await newUser(first)
    const kept = (await first.call('POST', '/admin/groups', { name: 'A' }, AS_ADMIN)).body.data
    const gone = (await first.call('POST', '/admin/groups', { name: 'B' }, AS_ADMIN)).body.data
    for (const { id } of [kept, gone])
      await first.call('PUT', `/admin/groups/${id}/members/${ada.id}`, undefined, AS_ADMIN)
    await first.call('DELETE', `/admin/groups/${gone.id}`, undefined, AS_ADMIN)
    await first.stop()

    for (const hasSnapshot of [true, false]) {
      if (!hasSnapshot) await rm(path.join(first.dataDir, 'snapshots'), { recursive: true })
      const next = await startGateway({}, first)
      const read = async (path: string) => (await next.call('GET', path, undefined, AS_ADMIN)).body.data
      expect(await read('/admin/groups')).to.deep.equal([kept])
      expect(await read(`/admin/groups/${kept.id}/members`)).to.deep.equal([{ id: ada.id, name: 'someone' }])
      await next.stop()
    }
  })

  it('refuse what is not valid, and name it', async () => {
    const { id } = await create()
    const ada = await newUser(gateway)
    expectError(await admin('POST', '/admin/groups', { name: 'x', nmae: 'y' }), [400, 'invalid_value'])
    expectError(await admin('POST', '/admin/groups', {}), [400, 'missing_parameter'])
    expectError(await admin('PATCH', `/admin/groups/${id}`, {}), [400, 'invalid_value'])
    expectError(await admin('PATCH', `/admin/groups/${id}`, { members: [] }), [400, 'invalid_value'])
    expectError(await admin('GET', '/admin/groups/07'), [404, 'not_found'])
    expectError(await admin('PUT', `/admin/groups/999999/members/${ada.id}`), [404, 'not_found'])
    expectError(await admin('PUT', `/admin/groups/${id}/members/999999`), [404, 'not_found'])
    const asUser = await ada.call('GET', '/admin/groups')
    expectError(asUser, [401, 'invalid_api_key'])
  })
})
