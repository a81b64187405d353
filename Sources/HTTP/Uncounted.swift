/// A reference to an object that something else keeps for as long as this is used; using it counts nothing.
///
/// Counting is an atomic operation, dozens of which a request would cost. Where the kept object is a connection or a stream, the
/// event loop keeps it to the end of the turn in which it leaves; an exchange is kept likewise by its worker. Whoever stores one of
/// these beyond a turn says next to it who keeps the object.
///
/// SAFETY: `with` hands the object out for one call; the keeper that the user names holds it meanwhile.
public struct Uncounted<Object: AnyObject> {
    @usableFromInline let reference: Unmanaged<Object>

    @inlinable @inline(always) public init(_ object: Object) { reference = unsafe Unmanaged.passUnretained(object) }

    /// A counted reference, for where it has to be kept, or where speed does not matter.
    @inlinable @inline(always) public var object: Object { unsafe reference.takeUnretainedValue() }

    @inlinable @inline(always)
    public func with<R>(_ body: (Object) -> R) -> R { unsafe reference._withUnsafeGuaranteedRef(body) }
}

/// Uses what a stored property refers to without counting a reference. Precondition: the property's object outlives the call, also
/// when the property changes within it.
@inlinable @inline(always)
public func uncounted<Object: AnyObject, R, E>(
    _ object: @autoclosure () -> Object, _ body: (Object) throws(E) -> R
) throws(E) -> R {
    // An argument would be held, and counted, until the call returns.
    let reference = unsafe Unmanaged.passUnretained(object())
    return try unsafe reference._withUnsafeGuaranteedRef { object in
        Result { () throws(E) in try body(object) }
    }.get()
}
