/** Responses to a client's initial requests: the members of the cluster and the server's features. */
import gossip from '@eventstore/db-client/generated/gossip_pb.js'
import features from '@eventstore/db-client/generated/serverfeatures_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'

export type NodeState = 'leader' | 'follower' | 'unknown'

/** A node as the gossip of the others describes it. */
export interface Member {
  readonly port: number
  readonly state: NodeState
  readonly isAlive: boolean
}

const { LEADER, FOLLOWER, UNKNOWN } = gossip.MemberInfo.VNodeState
const STATES = { leader: LEADER, follower: FOLLOWER, unknown: UNKNOWN } as const

export function buildClusterInfo(members: readonly Member[]): InstanceType<typeof gossip.ClusterInfo> {
  const info = new gossip.ClusterInfo()
  info.setMembersList(members.map(buildMember))
  return info
}

function buildMember({ port, state, isAlive }: Member, index: number) {
  const endPoint = new gossip.EndPoint()
  endPoint.setAddress('127.0.0.1')
  endPoint.setPort(port)
  const id = new shared.UUID()
  id.setString(`00000000-0000-4000-8000-00000000000${index}`)
  const member = new gossip.MemberInfo()
  member.setInstanceId(id)
  member.setTimeStamp('0')
  member.setState(STATES[state])
  member.setIsAlive(isAlive)
  member.setHttpEndPoint(endPoint)
  return member
}

const METHODS = ['append', 'batchappend', 'delete', 'read', 'tombstone']

export function buildSupportedMethods(version: string): InstanceType<typeof features.SupportedMethods> {
  const methods = METHODS.map((name) => {
    const method = new features.SupportedMethod()
    method.setServiceName('event_store.client.streams.Streams')
    method.setMethodName(name)
    return method
  })
  const supported = new features.SupportedMethods()
  supported.setEventStoreServerVersion(version)
  supported.setMethodsList(methods)
  return supported
}
