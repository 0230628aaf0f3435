//! Handover of a pipe to a running process over its socket.
//!
//! The program must not read the socket itself: its end tells the supervisor that the program started.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

/// Sends a file, or that there is none. It must be the first message: reading a line might consume what follows it, and
/// lose the file.
pub(super) fn send(socket: &UnixStream, file: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if let Some(file) = &file {
        beside.push(SendAncillaryMessage::ScmRights(std::slice::from_ref(file)));
    }
    // A file can only be sent together with data.
    sendmsg(socket, &[IoSlice::new(&[0])], &mut beside, SendFlags::empty())?;
    Ok(())
}

/// Receives the file. Programs do not inherit it.
pub(super) fn receive(socket: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    recvmsg(socket, &mut [IoSliceMut::new(&mut [0])], &mut beside, RecvFlags::empty())?;
    let mut files = beside.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    let file = files.next();
    if let Some(file) = &file {
        fcntl_setfd(file, FdFlags::CLOEXEC)?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_pipe_arrives_at_the_other_end() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (reader, mut writer) = io::pipe().unwrap();
        send(&ours, Some(reader.as_fd())).unwrap();
        (&ours).write_all(b"a line\n").unwrap();
        drop(reader);
        let mut received = File::from(receive(&theirs).unwrap().unwrap());
        writer.write_all(b"hello").unwrap();
        drop(writer);
        let mut text = String::new();
        received.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
    }

    #[test]
    fn nothing_is_nothing() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        send(&ours, None).unwrap();
        assert!(receive(&theirs).unwrap().is_none());
        drop(ours);
        assert!(receive(&theirs).unwrap().is_none());
    }
}
